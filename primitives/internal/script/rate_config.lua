--- Returns a limiter's rate, if there is one.
---
---@key limiter hash          rate, interval, type, keepAliveTime
---@return int(0..2147483647)? rate     permits in an interval
---@return milliseconds(0..)? interval
---@return string? kind       1: each client has its own permits
---@return milliseconds(0..)? alive   how long the limiter exists without use; 0: forever
---@readonly
---@include rate_fields.lua
local fields, strange = fields_of(limiter)
return strange or fields or {false, false, false, false}
