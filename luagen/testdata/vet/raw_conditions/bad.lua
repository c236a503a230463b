-- A count is true whatever it is.
if redis.call('exists', KEYS[1]) then return 0 end
if not redis.call('setnx', KEYS[1], ARGV[1]) then return 1 end
local members = redis.call('smembers', KEYS[2])
if #members then redis.call('del', KEYS[2]) end
local added = redis.call('sadd', KEYS[2], ARGV[1])
if added or ARGV[2] then return 3 end
local state = redis.call('hexists', KEYS[3], 'f') and 'there' or 'gone'
while redis.call('llen', KEYS[4]) do redis.call('rpop', KEYS[4]) end
repeat local left = redis.call('decr', KEYS[5]) until not left
if not #members == 0 then return 4 end
if redis.pcall('sismember', KEYS[2], ARGV[1]) then return 5 end
local n = redis.call('exists', KEYS[1]) or redis.call('exists', KEYS[2])
local function taken(key) return redis.call('exists', key) end
if taken(KEYS[1]) then return 6 end
local function free(key) if redis.call('llen', key) > 10 then return false end end
if free(KEYS[4]) then return 7 end
if n == 8 then redis.error_reply('BUSY try again') end
local function full(list) return type(list) == 'table' and #list end
if full(members) then return 8 end
local failed = {}
if n == 9 then table.insert(failed, redis.error_reply('BUSY try again')) end
if n == 10 then failed[#failed + 1] = redis.error_reply('BUSY try again') end
local answer = n == 11 and 'OK' or redis.error_reply('BUSY try again')
if n == 11 then return {answer, n} end
return {state, n, failed, redis.error_reply('BUSY try again')}
