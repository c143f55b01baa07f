"""Text environments, each behind the protocol of `worlds.base`; they know no paper."""
