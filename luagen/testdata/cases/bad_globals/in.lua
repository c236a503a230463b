---@key lock any
counter = 1
function helper() return 1 end
print(lokc, rediss.call('getdel', lock))
local n = redis.cal('getdel', lock)
redis.call('set', KEYS[1], ARGV[1], n, os.time(), string.foo, server.call)
do local inner = 1; redis.call('getdel', inner) end
redis.call('getdel', inner)
