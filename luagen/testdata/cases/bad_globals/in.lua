---@key lock hash
counter = 1
function helper() return 1 end
print(lokc, rediss.call('get', lock))
local n = redis.cal('get', lock)
redis.call('set', KEYS[1], ARGV[1], n, os.time(), string.foo, server.call)
do local inner = 1; redis.call('get', inner) end
redis.call('get', inner)
