#!lua flags=allow-oom
-- @param KEYS[1] the hash
-- @return its field
---@allow undeclared the server has it as a module
local extra = box.get(KEYS[1])
redis.call(ARGV[1], ARGV[2], ARGV[3])
server.call('hpexpire', KEYS[1], 500, 'fields', 1, 'f')
redis.call('blpop', KEYS[1], 0)
--- Adds.
---@param a number
---@class thing
local function add(a) return a + 1 end
redis.call('hset', KEYS[2], 'took', os.clock())
return {extra, add(1), redis.call('json.get', KEYS[1])}
