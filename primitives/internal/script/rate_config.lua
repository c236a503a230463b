--- Returns a limiter's rate, if there is one.
---
---@key limiter hash          rate, interval, type, keepAliveTime
---@return int? rate          permits of an interval
---@return milliseconds? interval
---@return string? kind       1: each client has its own permits
---@return milliseconds? alive   how long the limiter exists without being used; 0: for ever
---@readonly
---@include rate_fields.lua
local fields, strange = fields_of(limiter)
return strange or fields or {false, false, false, false}
