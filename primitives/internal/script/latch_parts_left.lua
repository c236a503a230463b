--- Returns how many parts of a latch are not counted yet: 0 once it is open.
---
---@key latch string                        the count
---@key parts hash                          counted part -> 1; empty -> the TTL in milliseconds, 0 once the latch is open
---@return int? left                        nil: the latch is not there
---@error NOTANUMBER the key holds a text that is no whole number
---@include latch_parts.lua
---@readonly
return missing(latch, parts)
