local rcall, keys = redis.call, {}
for i = 1, #KEYS do
  keys[i] = KEYS[i]
end
local names = keys
table.insert(names, ARGV[1])
redis.call('sort', KEYS[1], 'by', ARGV[2])
local log = redis.log
log(redis.LOG_NOTICE, 'sorted')
return rcall('del', unpack(keys))
