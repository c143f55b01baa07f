"""Sentences of TextWorld's "house" theme that set a tone and state nothing.

They are the game's own output. In lower case: how a sentence begins, or of looks and answers the whole of it.
"""

from __future__ import annotations

import re

# The paragraph below a room's title: that one is now in the room, which the title says already.
_GREETINGS = (
    r"i am [\w ]+ to announce that you are now in", r"ah, the", r"this is some kind of",
    r"and now, well, you're in it", r"okay, so you're in", r"you better believe it is",
    r"you(?:'re| are| find yourself| arrive)\b", r"(?:guess what|well how about that|well i'll be)\b",
    r"well,? here (?:we are|you are)\b", r"you(?:'ve| have)\b", r"this might come as a shock", r"of every",
    r"no, this is", r"it seems to be pretty", r"that is to say, you're in", r"your mind races to think",
    r"and then it hits you", r"of course", r"you're in the", r"if you're wondering why", r"fancy seeing you here",
    r"here, by the way, being", r"i never took you for", r"this is going to sound unbelievable",
    r"you're not going to believe this", r"you make (?:a|another one of your) grand", r"look at you, bigshot",
    r"look around you", r"take it all in", r"it's not every day", r"i just think it's",
    r"an? \w+(?: \w+)? (?:sign|notice)", r"an? [\w ]*(?:sign|placard|notice|signboard|board) tells you that",
    r"look at that", r"what does it say", r"it says welcome", r"well that's cool", r"this just in", r"welcome to",
    r"wow", r"here we are in", r"this \S+(?: \S+){0,3} you have just entered", r"not the",
    r"an? (?:[\w-]+ ){1,3}(?:one|kind of place)\b", r"okay, just remember", r"you try to gain information",
    r"you can barely contain", r"the room (?:seems oddly|is well lit)", r"you decide to", r"i guess you better",
    r"you start to take note", r"you begin (?:to take stock|looking)", r"let's see what's in here",
)  # fmt: skip
# Between the things of a room.
_ASIDES = (
    r"what's that over there", r"were you looking for", r"look out", r"look over there", r"oh,? (?:great|wow)",
    r"hey, want to see", r"you bend down to tie your shoe", r"is that what i think it is", r"it is",
    r"you lean against the wall", r"you shudder", r"you wonder idly", r"now why would someone",
    r"there's something (?:strange|about)", r"textworld", r"huh, weird", r"hmm?", r"what else", r"wow",
    r"i mean, just wow", r"isn't textworld", r"you can't wait to tell", r"something scurries by", r"probably nothing",
    r"you idly wonder", r"it's pretty fitting", r"suddenly, you bump your head", r"now that's what i call",
    r"classic textworld", r"the light flickers", r"you can't really describe", r"does this look like anything",
    r"what a great pairing", r"make a note of this", r"is th(?:at|is) (?:really )?(?:it|what)", r"you always thought",
    r"this\.\.\.", r"you look around you", r"why", r"you (?:check|look at) the price tag",
    r"wow, check out the price tag", r"(?:\w+ )?\w+ (?:dollars|bucks|big ones)", r"that's ridiculous",
    r"(?:you know|do you know|did you ever meet|you ever meet|i know|i got|i have)\b", r"i'm sure my friend",
    r"where'd they buy", r"what a (?:deal|coincidence|letdown|waste)", r"you'll have to ask",
    r"just like in the movies", r"it doesn't get", r"i guess it's true", r"why don't you take a picture",
    r"weren't you just thinking", r"you move on", r"sometimes, just sometimes", r"what's the point", r"hopefully",
    r"you make a mental note", r"you swear loudly", r"this always happens", r"silly", r"you think about smashing",
    r"aw, (?:and )?here you were", r"oh", r"why couldn't there", r"what, you think everything",
    r"it would have been so cool", r"what kind of nightmare", r"this is the worst thing",
    r"don't worry, (?:it is|there is no door)", r"you don't like doors", r"\w+ could get you one",
)  # fmt: skip
# The looks of a thing that is examined.
_LOOKS = (
    r"the .+ (?:looks|seems|appears|would seem) .+", r"the .+ is (?!open|closed|locked|empty).+",
    r"(?:it's|that's) an? .+", r"it is what it is, an? .+", r"the metal of the .+ is .+",
    r"you couldn't pay me to eat that .+", r"useful for .+",
)  # fmt: skip
# What has no place in a state: refusals, points, the end.
_ANSWERS = (
    r"\(.*\)", r"your score (?:has|changed).*", r"\*\*\*.*", r"you scored .*", r"which do you mean, .*",
    r"you can't .*", r"that's (?:already|not|fixed|hardly|only|plainly) .*", r"that (?:doesn't|seems) .*",
    r"i (?:didn't|only) .*", r"there(?: is|'s| are) no(?:thing|ne) .*",
    r"you (?:haven't|aren't|need to|have to|already|cannot|lack|should|still|must|don't|are not|would|do not) .*",
    r"(?:it|the .+) is(?:n't| not| already| currently| fixed) .*", r"it's not .*",
    r"the .+ (?:doesn't|does not|has already) .*", r"can only .*", r"cooking requires .*",
    r"cutting something requires .*", r"something still needs to be .*", r"time passes", r"cutting it up .*",
    r"you can only .*", r"you (?:jump|find nothing) .*", r"as good-looking .*", r"you have so far scored .*",
    r"available commands:", r"[\w<>. ]+(?: {2,}|\.\.\.: ).*", r"nothing .*", r"what do you want .*",
    r"violence isn't .*", r"\W*you lost\W*", r"(?:no|sorry|beg)\b.*",
)  # fmt: skip


def _any(forms: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(forms))


GREETING, ASIDE = _any(_GREETINGS), _any(_ASIDES)
LOOKS, ANSWER = _any(tuple(f"(?:{form})$" for form in _LOOKS)), _any(tuple(f"(?:{form})$" for form in _ANSWERS))
