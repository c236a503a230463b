-- That something is there says nothing of a number or a text elsewhere.
if redis.call('get', KEYS[1]) then return -1 end
local ids = redis.call('zrangebyscore', KEYS[2], 0, ARGV[1])
if next(ids) ~= nil then
  local every = tonumber(redis.call('hget', KEYS[3], ids[1]))
  redis.call('zadd', KEYS[4], ARGV[1] + every, ids[1])
  redis.call('publish', ids[1], 'next ' .. redis.call('hget', KEYS[8], ids[1]))
end
local score = redis.call('zscore', KEYS[5], ARGV[2])
if score ~= nil and score ~= '' then redis.call('zadd', KEYS[4], score, ARGV[2]) end
if tonumber(redis.call('hget', KEYS[6], 'epoch')) > 5 then return 1 end
local function twice(key) return tonumber(redis.call('get', key)) * 2 end
return twice(KEYS[7])
