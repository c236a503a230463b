local owner, left = redis.call('GET', KEYS[1]), tonumber(redis.call('GET', KEYS[2]) or 0)
if not owner or owner ~= ARGV[1] then
  redis.log(redis.LOG_WARNING, 'lost')
end
redis.call('DEL', KEYS[1])
local want = tonumber(ARGV[2])
local function note(text) redis.log(redis.LOG_NOTICE, text) end
if left < want then
  note('too few')
end
if ARGV[3] == 'now' then redis.call('DECRBY', KEYS[2], want) end
return left
