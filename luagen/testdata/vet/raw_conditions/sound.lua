-- The same, compared; and conditions to be on the safe side.
if redis.call('exists', KEYS[1]) == 1 then return 0 end
if redis.call('setnx', KEYS[1], ARGV[1]) == 0 then return 1 end
local members = redis.call('smembers', KEYS[2])
if #members > 0 then redis.call('del', KEYS[2]) end
local ttl = redis.call('pttl', KEYS[4])
if ttl and ttl > 0 then return ttl end
if not ttl or ttl == -1 then return -1 end
if not ttl then ttl = 0 end
local count = redis.call('scard', KEYS[2]) or 0
local n = tonumber(ARGV[2])
if not n then return redis.error_reply('BAD no number') end
local more = count > n and count or n
local sign = more > 0 and 1 or 0
local value = redis.call('get', KEYS[1])
if not value or not redis.call('set', KEYS[1], value, 'XX') then return 2 end
if redis.call('zrank', KEYS[3], ARGV[1]) then return 3 end
while 1 do
  if redis.call('llen', KEYS[4]) == 0 then break end
  redis.call('rpop', KEYS[4])
end
local kept = {}
if value then kept.at = redis.call('hlen', KEYS[5]) end
if kept.at then return kept.at end
local function taken(key)
  if redis.call('exists', key) == 0 then return nil end
  return redis.call('strlen', key)
end
if taken(KEYS[1]) then return 6 end
local function free(key)
  if redis.call('llen', key) > 10 then return false end
  return true
end
if free(KEYS[4]) then return 7 end
local function full(list) return #list > 0 and list end
local function length(list) return type(list) == 'table' and #list end
if full(members) and length(members) == 2 then return 8 end
if redis.call('zrank', KEYS[5], ARGV[1]) then return full(members) and 9 end
local errors = {}
errors['busy'] = redis.error_reply('BUSY try again')
local failed = redis.error_reply('BUSY try again')
if n == 8 then return failed end
if n == 9 then return errors.busy end
if n == 10 then return members and 'OK' or redis.error_reply('BUSY try again') end
return {sign, more, #members}
