"""Filler text of TextWorld: sentences of its "house" theme and of its interpreter that state no fact of the world.

Matched whole, in lower case and without the last point, as the game prints them: rooms and looks as in
`house_room.twg` and `house_obj.twg` of the package textworld, the rest as in its Inform 7 sources and Inform's
standard answers. What varies within a sentence is a closed list of words, the ROOM of the title, or a THING's name.
Any other sentence, even one that begins alike, counts as unparsed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from standins.statefactory.textworld.words import THING

_KIND = (
    r"(?:ordinary|normal|typical|standard|usual|nondescript|plain|spotless|clean|cramped|steamy|misty|crowded|cheap|"
    r"marbled|luxurious|damp|spacious|roomy|stuffed|messy|forgotten|ugly|gloomy|sweaty|balmy|cozy|relaxing|pleasant|"
    r"sleepy|fun|entertaining|exciting|well lit|silent|austere|serious|still|"
    r"(?:(?:super|unreasonably|absurdly|alarmingly|upsettingly) )?hot)"
)
_ENTERED = r"(?:entered|walked into|fallen into|moved into|stumbled into|come into|shown up in|sauntered into)"
_SIGN = r"(?:sign|placard|notice|signboard|board)"
# The paragraph below a room's title: that one is now in the room, which the title says already.
_GREETINGS = (
    r"i am (?:sorry|pleased|excited|stoked|so happy|honoured|required|obligated) to announce that you are now in the"
    r" ROOM",
    r"ah, the ROOM", r"this is some kind of ROOM, really great KIND vibes in this place, a wonderful KIND atmosphere",
    r"and now, well, you're in it", r"okay, so you're in an? ROOM, cool, but is it KIND", r"you better believe it is",
    r"you (?:are|find yourself|arrive) in an? (?:ROOM|KIND kind of place)", r"you're (?:now )?in (?:an?|the) ROOM",
    r"(?:guess what|well how about that|well i'll be), you are in (?:a|the) place we're calling (?:a|the) ROOM",
    r"well,? here (?:we are in (?:a|the)|you are, back in the) ROOM", r"here we are in the ROOM",
    r"you(?:'ve| have) (?:just )?ENTERED an? (?:ROOM|KIND room)",
    r"this might come as a shock to you, but you've just ENTERED an? ROOM",
    r"you have ENTERED the most KIND of all possible ROOMs",
    r"of every ROOM you could have ENTERED, you had to (?:walk into|show up in|saunter into|come round) an? KIND one",
    r"not the ROOM you'd expect", r"no, this is an? ROOM", r"it seems to be pretty KIND here",
    r"that is to say, you're in an? ROOM", r"an? KIND (?:one|kind of place)",
    r"your mind races to think of what kind of room would be KIND", r"and then it hits you", r"of course",
    r"if you're wondering why everything seems so KIND all of a sudden, it's because you've just ENTERED the ROOM",
    r"fancy seeing you here", r"here, by the way, being the ROOM",
    r"i never took you for the sort of person who would show up in an? ROOM, but i guess i was wrong",
    r"(?:this is going to sound unbelievable|you're not going to believe this), but you've just entered an? ROOM",
    r"you make (?:a grand eccentric entrance|another one of your grand eccentric entrances) into an? ROOM",
    r"look at you, bigshot, walking into an? ROOM like it isn't some huge deal", r"look around you", r"take it all in",
    r"it's not every day someone gets to be in an? ROOM",
    r"you've seen better ROOMs, but at least this one seems pretty KIND",
    r"i just think it's (?:awesome|great) that you(?:'re in|'ve just entered) an? ROOM(?: now)?",
    r"an? (?:decrepit|rusty|laminated|crooked|well framed) SIGN tells you that you are now in the ROOM",
    r"look at that SIGN", r"what does it say", r"it says welcome to the ROOM", r"well that's cool",
    r"this just in- you, in the ROOM", r"welcome (?:back )?to the ROOM", r"wow",
    r"this ROOM you have just entered is definitely KIND", r"you(?: have)? re-enter(?:ed)? the ROOM",
    r"okay, just remember what you're here to do, and everything will go great", r"the room is well lit",
    r"you try to gain information on your surroundings by using a technique you call [\"']looking\.?[\"']",
    r"you can barely contain your excitement", r"you begin looking for stuff",
    r"the room seems oddly familiar, as though it were only superficially different from the other rooms in the "
    r"building",
    r"you decide to just list off a complete list of everything you see in the room, because hey, why not",
    r"you decide to start listing off everything you see in the room, as if you were in a text adventure",
    r"i guess you better just go and list everything you see here", r"you start to take note of what's in the room",
    r"you begin to take stock of what's (?:here|in the room)", r"let's see what's in here",
)  # fmt: skip
_SOMEONE = (
    r"(?:i know a|i got this|i have a|you know, i (?:know|got) a|you know what, i've got a) (?:person|friend)"
    r"(?:, they work out of (?:the bank|the big city|city hall),| who works for WORK|"
    r", their [\w-]+(?: friend)? works for WORK,)? who could get you one of those for PRICE"
)
# Between the things of a room.
_ASIDES = (
    r"what's that over there", r"were you looking for an? THING", r"look out", r"look over there",
    r"oh,? (?:great|wow)",
    r"hey, want to see an? THING", r"you bend down to tie your shoe", r"is that what i think it is", r"it is",
    r"you lean against the wall, inadvertently pressing a secret button",
    r"you shudder, but continue examining the THING", r"you wonder idly who left that here",
    r"now why would someone leave that there",
    r"there's something strange about this (?:thing )?being here, but you (?:can't put your finger on it|don't have "
    r"time to worry about that now)",
    r"there's something about an object in a room that's just so(?:\.\.\. textworld)?", r"textworld", r"huh, weird",
    r"hmm?", r"hmmm\.\.\. what else, what else", r"wow", r"(?:wow, |i mean, just wow! )?isn't textworld just the best",
    r"i mean, just wow", r"you can't wait to tell the folks at home about this", r"probably nothing",
    r"something scurries by right in the corner of your eye", r"it's pretty fitting",
    r"you idly wonder how they came up with the name textworld for this place",
    r"suddenly, you bump your head on the ceiling, but it's not such a bad bump that it's going to prevent you from "
    r"looking at objects and even things",
    r"now that's what i call textworld", r"classic textworld", r"the light flickers for a second, but nothing else "
    r"happens",
    r"you can't really describe the THING besides that it's [\w-]+(?: [\w-]+)?",
    r"does this look like anything mentioned in the instructions", r"what a great pairing of adjectives and nouns",
    r"make a note of this, you might have to put stuff on or in it later on",
    r"is that really what you were looking for", r"is this it", r"is this what you came to textworld (?:to see|for)",
    r"you always thought you'd be more excited to see an? THING in a room", r"this\.\.\. THING",
    r"you look around you, at all the containers and supporters, doors and objects, and you think to yourself",
    r"why(?: textworld)?",
    r"(?:you (?:check|look at)|wow, check out) the price tag (?:that's still affixed to|that hangs off|on|glued to) "
    r"the THING",
    r"(?:you (?:check|look at)|wow, check out) the price tag that the THING's owner still hasn't taken off",
    r"PRICE", r"that's ridiculous", _SOMEONE,
    r"(?:you know|do you know|did you ever meet|you ever meet) my (?:good )?(?:buddy|pal|friend), they work for WORK",
    r"i'm sure my friend could get you one of those for PRICE", r"what a deal",
    r"where'd they buy this THING, some kind of expensive (?:place|store)",
    r"you'll have to ask where they got this", r"just like in the movies", r"it doesn't get more textworld than this",
    r"i guess it's true what they say, if you're looking for an? THING, go to textworld",
    r"why don't you take a picture of it, it'll last longer",
    r"what a coincidence, weren't you just thinking about an? THING",
    r"you move on, clearly (?:upset with|angry about|infuriated by|depressed by|done caring about|upset by|furious "
    r"with) (?:your textworld experience|textworld)",
    r"sometimes, just sometimes, textworld can just be the worst", r"what's the point of an empty THING",
    r"hopefully this doesn't make you too upset", r"hopefully, this discovery doesn't ruin your textworld experience",
    r"you make a mental note to not get your hopes up the next time you see an? THING in a room",
    r"you swear loudly", r"this always happens(?:, here in textworld)?",
    r"silly THING, silly, empty, good for nothing THING",
    r"you think about smashing the THING to bits, throwing the bits (?:in the dump|in a fire|into a pit|into the "
    r"garbage), etc, until you get bored",
    r"aw, (?:and )?here you were, all excited for there to be things on it", r"oh(?: well)?",
    r"why couldn't there just be stuff on it", r"what, you think everything in textworld should have stuff on it",
    r"it would have been so cool if there was stuff on the THING", r"what a (?:waste of a day|letdown)",
    r"what kind of nightmare textworld is this", r"this is the worst thing that could possibly happen, ever",
    r"don't worry, (?:it is (?:unblocked|unguarded)|there is no door)",
)  # fmt: skip
_ORDINARY = r"(?:ordinary|normal|typical|standard|usual)"
_DISH = (
    rf"(?:{_ORDINARY}|fresh|maturing|soft|chilled|organic|aging|half-eaten|rotting|frozen|large|small|massive|tiny|"
    r"hefty|sizable|dried|dry|pureed)"
)
_DOOR = (
    r"(?:imposing|sturdy|well-built|durable|robust|rugged|hefty|commanding|grand|noble|ominous|towering|manageable|"
    r"solid|stuffy)"
)
# The looks of a thing that is examined.
_LOOKS = (
    r"the THING looks strong, and impossible to (?:break|crack|destroy)",
    r"the THING is (?:stable|wobbly|unstable|balanced|durable|reliable|solid|undependable|solidly built|shaky|an "
    r"unstable piece of (?:garbage|trash|junk))",
    r"the THING is (?:unremarkable|clean|dirty|modern|antiquated|well-used|brand new|expensive looking|cheap looking)",
    r"the THING (?:looks|seems|appears|appears to be|would seem to be) (?:out of place|to fit in|well matched to "
    r"everything else) here",
    r"the THING looks to fit in here", r"the THING is cold to the touch", r"the THING looks useful",
    r"the THING looks (?:appetizing|delicious|tasty|appealing|delectable|heavenly|inviting|savory|tantalizing|"
    r"tempting)",
    rf"that's an? (?:{_DISH} )THING", rf"you couldn't pay me to eat that (?:{_DISH} thing|THING)",
    r"that's an? (?:(?:raw|fried|roasted|grilled|burned|sliced|diced|chopped) )+THING",
    r"the THING is (?:heavy|light|weighty|surprisingly heavy|heavier than it looks)",
    r"the metal of the THING is (?:antiqued|brushed|hammered|polished|satin|rusty)",
    rf"the THING looks {_DOOR}", rf"it's an? {_DOOR} THING", r"it is what it is, an? THING",
    r"useful for (?:frying|roasting|grilling) things",
)  # fmt: skip
_NOT_MADE_FOR = r"you can (?:enter|lie down on|sit down on|stand on|open|close|switch|lock|unlock)"
# What has no place in a state: refusals, points, the end, help.
_ANSWERS = (
    r"\((?:first (?:taking|opening|unlocking) )?the THING(?: (?:from|with|in|into|on|to) the THING)?\)",
    r"your score (?:has just gone up|changed) by (?:minus )?[a-z]+(?:-[a-z]+)? points?",
    r"\*{3} (?:the end|you lost|you have died|you have won)(?: \*{3})?", r"\*{3}",
    r"you (?:have so far )?scored (?:a total of )?-?\d+(?: points?| out of a possible \d+),? in \d+ turns?",
    r"which do you mean, the THING(?:, the THING)*,?(?: or the THING)?",
    # The interpreter's
    r"that's not (?:a verb i recognise|something you need to refer to in the course of this game)",
    r"i beg your pardon",
    r"i didn't understand that (?:sentence|number|instruction)", r"i didn't understand the way that finished",
    r"i only understood you as far as wanting to [\w' ]+", r"you seem to have said too little",
    r"what do you want to [\w' -]+", r"you can't use multiple objects with that verb",
    r"you can only use multiple objects once on a line", r"you can only do that to something animate",
    r"you excepted something not included anyway", r"that noun did not make sense in this context",
    r"you must (?:name (?:an|a second) object|supply a (?:second )?noun|name something more substantial)",
    r"you may not (?:name (?:an|a second) object|supply a (?:second )?noun)", r"you'll have to say which compass "
    r"direction to go in",
    r"there are none at all available", r"nothing to do", r"you have to be more specific",
    # Taking, putting, opening
    r"you can't see any such thing", r"you can't see inside, since the THING is closed", r"you can't go that way",
    r"you (?:can't reach into|cannot carry|cannot drink|can't get into the closed) the THING",
    r"you can't put something (?:inside|on top of) itself", r"you can't wear (?:that|those)",
    r"you(?: already have|'re already wearing) (?:that|those)", r"you (?:haven't got|aren't holding) (?:that|those)",
    r"you aren't holding the THING", r"you (?:would achieve|achieve) nothing by this", r"you are unable to",
    r"you're carrying too many things already", r"you lack the dexterity", r"you are always self-possessed",
    r"putting things on the THING would achieve nothing", r"(?:the THING|that|those) can't contain things",
    r"there is no more room (?:in|on) the THING", r"but (?:it|they) (?:isn't|aren't) there now",
    r"(?:that's|they're|it's|it is|the THING is) (?:fixed in place|hardly portable|plainly inedible)",
    r"(?:that's|they're|it's|those are) already (?:open|closed|on|off)", r"(?:it|that) seems to be locked",
    rf"(?:that's|it's|they're|those are) not something {_NOT_MADE_FOR}",
    rf"(?:that|it|those) (?:isn't|aren't) something {_NOT_MADE_FOR}",
    rf"(?:that|those) (?:doesn't|don't) seem to be something {_NOT_MADE_FOR}",
    r"(?:that|those) (?:doesn't|don't) seem to fit the lock", r"(?:that|those) seems? to be a part of the THING",
    r"(?:that|those) seems? to belong to the THING", r"(?:that|those) (?:isn't|aren't) available",
    r"you need to (?:take the THING|unlock the THING with the THING) first", r"the THING is welded shut",
    r"you have to (?:open the THING|unlock the THING with the THING) first", r"first you would have to close the THING",
    # Cooking
    r"you need to specify how you want to cut the THING", r"either slice, dice, or chop it",
    r"you should cook the THING first", r"the THING has already been cut", r"can only (?:cook food|cut cuttable food)",
    r"can only prepare meal in the THING", r"you still miss something", r"something still needs to be (?:cooked|cut)",
    r"cooking requires a source of heat", r"cutting something requires a knife", r"cutting (?:it|that|them) up would "
    r"achieve little",
    # Elsewhere
    r"time passes", r"you jump on the spot", r"you find nothing of interest", r"as good-looking as ever",
    r"you see nothing special about the THING", r"violence isn't the answer to this one", r"nothing obvious happens",
    r"you (?:hear|smell|taste|feel) nothing unexpected", r"there is nothing (?:on the THING|suitable to drink here)",
    r"available commands:", r"(?:look|goal|inventory|go <dir>): +[a-z', ]+",
    r"(?:examine|eat|open|close|drop|take|put|insert|lock|unlock) \.\.\.(?: (?:on|from|into|with) \.\.\.)?: +[a-z', ]+",
)  # fmt: skip
_SLOTS = {
    "THING": THING, "KIND": _KIND, "ENTERED": _ENTERED, "SIGN": _SIGN,
    "PRICE": r"(?:(?:thirty|forty|fifty|sixty|seventy|eighty|ninety|(?:a|two|three) hundred|\d+) "
             r"(?:dollars|bucks|big ones))",
    "WORK": r"(?:the (?:government|post office|mayor|store|president|prime minister|internet)|a company)",
}  # fmt: skip


def _any(forms: Sequence[str]) -> re.Pattern[str]:
    text = "|".join(forms)
    for slot, words in _SLOTS.items():
        text = words.join(re.split(rf"\b{slot}(?=s?\b)", text))
    return re.compile(text)


GREETING, ASIDE, LOOKS, ANSWER = map(_any, (_GREETINGS, _ASIDES, _LOOKS, _ANSWERS))


def is_greeting(sentence: str, room: str) -> bool:
    """Whether a sentence greets one in this very room, which it may call by its title's last words alone."""
    words = room.split(" ")
    names = "|".join(re.escape(" ".join(words[start:])) for start in range(len(words)))
    called = re.sub(rf"\b(?:{names})(?=s?\b)", "ROOM", sentence)
    return bool(GREETING.fullmatch(sentence) or GREETING.fullmatch(called))
