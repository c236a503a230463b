---@module 'cjson'
local cjson = cjson
---@type string
local name = KEYS[1]
---@param v string
local function unused(v) return cjson.encode(v) end
return redis.call('get', name)
