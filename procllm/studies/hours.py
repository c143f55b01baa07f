"""Work hours under the networks: a small report, which a small model can write without a network."""

from procllm.domains.hours import HOURS, entries
from procllm.studies.conditions import of_own

STUDY = of_own("procllm-hours", HOURS, constant="Ada 9", copy=entries)  # "Ada 9" is right most often at size (2, 2)
