local rcall = redis.call
rcall('set', KEYS[1], 1.5)
local refused = redis.pcall('incr', KEYS[1])
local function get(key)
  return rcall('get', key)
end
local value = get(KEYS[1]) -- return redis.call(
local all = redis.call(
  'lpush', KEYS[2], value, ARGV[2]) ---@allow key the second is the caller's
if ARGV[1] == 'raise' then error({err = 'MINE raised'}) end
if ARGV[1] == 'lua' then return value.x.y end
if ARGV[1] == 'call' then redis.call('incr', KEYS[2]) end
if ARGV[1] == 'caught' then return pcall(rcall, 'incr', KEYS[2]) end
if ARGV[1] == 'reply' then return redis.error_reply('MINE replied') end
if ARGV[1] == 'nil' then return ... end
if ARGV[1] == 'text' then return 'return redis.call(' end
if ARGV[1] == 'global' then return none end
if ARGV[1] == 'changed' then local list = redis.call('lrange', KEYS[2], 0, 0) list[1] = 'w' return list end
return redis.call('lrange', KEYS[2], 0, -1)
