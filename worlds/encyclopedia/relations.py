"""The lists that the synthetic encyclopedia draws values from."""

GENRES = ("comedy", "crime", "drama", "fantasy", "mystery", "romance", "thriller", "war")
STYLES = ("blues", "folk", "jazz", "pop", "punk", "rock", "soul", "techno")
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
SERVICES = {  # what businesses are, what their price is for, and its bounds in dollars
    "hotel": ("double room", 60, 240),
    "gym": ("monthly pass", 18, 95),
    "cinema": ("seat", 6, 21),
    "restaurant": ("set menu", 15, 80),
    "bicycle shop": ("day of rental", 8, 45),
}
