"""The words of the synthetic catalogue: invented brands, and kinds of products with what is said of them."""

from __future__ import annotations

from typing import NamedTuple

SYLLABLES = (
    "al", "bren", "cor", "dal", "el", "fen", "gar", "hol", "is", "jun", "kel", "lor", "mav", "nor", "or", "pel", "quin",
    "ros", "sil", "tam", "ul", "ver", "wes", "yar", "zan",
)  # fmt: skip
ENDINGS = ("a", "by", "co", "den", "ea", "field", "ika", "li", "mere", "o", "ora", "ton", "via", "wick")
LINES = ("Classic", "Deluxe", "Essential", "Everyday", "Heritage", "Mini", "Original", "Premium", "Select", "Studio")
COLOURS = ("black", "white", "navy", "grey", "red", "teal", "olive", "burgundy", "khaki", "pink")
CLOTHES = ("small", "medium", "large", "x-large", "xx-large")
SHOES = ("6", "7", "8", "9", "10")
PACKS = ("pack of 1", "pack of 3", "pack of 6", "pack of 12")
BOTTLES = ("50ml", "100ml", "250ml", "500ml")


class KindOfProduct(NamedTuple):
    """query: what it is searched as. names: what titles call it. prices: dollars, from the cheapest to the dearest."""

    category: str
    path: tuple[str, ...]
    query: str
    names: tuple[str, ...]
    attributes: tuple[str, ...]
    uses: tuple[str, ...]
    options: dict[str, tuple[str, ...]]
    prices: tuple[float, float]


# The reward takes products with the same query, or with two categories in common, to be of one kind.
KINDS = (
    KindOfProduct(
        "grocery",
        ("Grocery & Gourmet Food", "Pasta & Noodles", "Packaged Meals"),
        "packaged meals",
        ("Mac and Cheese", "Pasta Shells", "Bean Burrito", "Lentil Bowl"),
        ("gluten free", "high protein", "plant based", "non gmo", "low sodium"),
        ("a quick lunch", "a camping dinner", "the office pantry"),
        {"flavor name": ("original", "tomato basil", "teriyaki", "hot & spicy"), "size": PACKS},
        (4, 45),
    ),
    KindOfProduct(
        "grocery",
        ("Grocery & Gourmet Food", "Snack Foods", "Granola Bars"),
        "granola bars",
        ("Granola Bars", "Oat Bars", "Nut Bars"),
        ("dairy free", "low sugar", "soy free", "individually wrapped", "resealable bag"),
        ("hiking trips", "school lunches", "breakfast in a hurry"),
        {"flavor name": ("chocolate chip", "peanut butter", "cranberry", "coconut"), "size": PACKS},
        (5, 40),
    ),
    KindOfProduct(
        "fashion",
        ("Clothing, Shoes & Jewelry", "Women", "Shoes", "Sandals"),
        "women's sandals",
        ("Wedge Sandals", "Summer Sandals", "Flat Sandals", "Platform Sandals"),
        ("ankle strap", "open toe", "rubber sole", "non slip", "memory foam"),
        ("the beach", "a garden party", "daily walks"),
        {"color": COLOURS[:6], "size": SHOES},
        (12, 90),
    ),
    KindOfProduct(
        "fashion",
        ("Clothing, Shoes & Jewelry", "Men", "Clothing", "Shirts"),
        "men's shirts",
        ("Henley Shirt", "Polo Shirt", "Button Shirt", "Linen Shirt"),
        ("machine wash", "slim fit", "long sleeve", "quick drying", "moisture wicking"),
        ("office days", "weekend trips", "golf"),
        {"color": COLOURS[:7], "size": CLOTHES},
        (10, 70),
    ),
    KindOfProduct(
        "electronics",
        ("Electronics", "Headphones & Earbuds", "Over-Ear Headphones"),
        "over-ear headphones",
        ("Bluetooth Headphones", "Studio Headphones", "Travel Headset"),
        ("noise cancelling", "fast charging", "hands free", "high definition", "carrying case"),
        ("long flights", "video calls", "music at home"),
        {"color": COLOURS[:5]},
        (20, 240),
    ),
    KindOfProduct(
        "electronics",
        ("Electronics", "Accessories", "Chargers"),
        "chargers",
        ("Wall Charger", "Car Charger", "Charging Station"),
        ("usb port", "wireless charging", "easy carry", "output protection", "plug play"),
        ("phones and tablets", "the desk", "the glove compartment"),
        {"color": ("black", "white"), "style": ("one port", "two ports", "four ports")},
        (8, 60),
    ),
    KindOfProduct(
        "furniture",
        ("Home & Kitchen", "Furniture", "Living Room Furniture", "Side Tables"),
        "side tables",
        ("End Table", "Nesting Table", "Coffee Table"),
        ("solid wood", "easy assemble", "storage space", "mid century", "metal legs"),
        ("a small living room", "a reading corner", "the hallway"),
        {"color": ("walnut", "oak", "espresso", "white")},
        (45, 380),
    ),
    KindOfProduct(
        "lighting",
        ("Home & Kitchen", "Lighting & Ceiling Fans", "Lamps"),
        "desk lamps",
        ("Desk Lamp", "Clip Lamp", "Reading Lamp"),
        ("energy efficient", "easy install", "eco friendly", "glass shade", "dimmable light"),
        ("a home office", "a bedside", "a workshop"),
        {"color": ("black", "silver", "gold", "white")},
        (12, 110),
    ),
    KindOfProduct(
        "bedding",
        ("Home & Kitchen", "Bedding", "Blankets & Throws"),
        "throw blankets",
        ("Throw Blanket", "Fleece Blanket", "Knitted Blanket"),
        ("super soft", "machine washable", "double sided", "queen size", "king size"),
        ("the sofa", "cold evenings", "the guest room"),
        {"color": COLOURS[:8], "size": ("50x60 inch", "60x80 inch", "80x90 inch")},
        (15, 85),
    ),
    KindOfProduct(
        "beauty",
        ("Beauty & Personal Care", "Hair Care", "Shampoo & Conditioner"),
        "shampoo",
        ("Repair Shampoo", "Moisture Shampoo", "Scalp Shampoo"),
        ("sulfate free", "cruelty free", "damaged hair", "tea tree", "paraben free"),
        ("dry hair", "daily washing", "travel"),
        {"scent": ("lavender", "citrus", "mint", "unscented"), "size": BOTTLES},
        (6, 48),
    ),
    KindOfProduct(
        "beauty",
        ("Beauty & Personal Care", "Skin Care", "Face"),
        "face serums",
        ("Face Serum", "Vitamin Serum", "Night Serum"),
        ("hyaluronic acid", "anti aging", "fragrance free", "sensitive skin", "fine lines"),
        ("morning care", "a calm evening", "tired skin"),
        {"size": BOTTLES[:2]},
        (9, 75),
    ),
    KindOfProduct(
        "kitchen",
        ("Home & Kitchen", "Kitchen & Dining", "Storage & Organization"),
        "food storage containers",
        ("Storage Containers", "Lunch Box", "Glass Jars"),
        ("bpa free", "leak proof", "dishwasher safe", "easy clean", "stainless steel"),
        ("leftovers", "meal prep", "picnics"),
        {"size": ("set of 3", "set of 5", "set of 10")},
        (9, 65),
    ),
    KindOfProduct(
        "sports",
        ("Sports & Outdoors", "Exercise & Fitness", "Yoga"),
        "yoga mats",
        ("Yoga Mat", "Exercise Mat", "Travel Mat"),
        ("extra thick", "tear resistant", "latex free", "light weight", "easy store"),
        ("home workouts", "the studio", "stretching"),
        {"color": COLOURS[:6], "size": ("4mm", "6mm", "8mm")},
        (14, 95),
    ),
    KindOfProduct(
        "garden",
        ("Patio, Lawn & Garden", "Gardening", "Pots & Planters"),
        "planters",
        ("Flower Pot", "Hanging Planter", "Herb Planter"),
        ("drainage hole", "frost proof", "self watering", "hand painted", "living room"),
        ("balconies", "kitchen herbs", "succulents"),
        {"color": ("terracotta", "white", "green"), "size": ("small", "medium", "large")},
        (8, 72),
    ),
    KindOfProduct(
        "pets",
        ("Pet Supplies", "Dogs", "Beds & Furniture"),
        "dog beds",
        ("Dog Bed", "Dog Cushion", "Dog Sofa"),
        ("removable cover", "orthopedic foam", "water resistant", "chew proof", "anti skid"),
        ("old dogs", "puppies", "crates"),
        {"color": COLOURS[:4], "size": CLOTHES[:4]},
        (22, 130),
    ),
)
