--- A name that only Valkey has, and a library that Redis 7.0 lacks.
---@key counter string
---@readonly
---@return string value
---@return float took   in seconds
---@since valkey 8.0
local began = os.clock()
local value = server.call('get', counter) or ''
return {value, string.format('%.6f', os.clock() - began)}
