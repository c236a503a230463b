-- A text and numbers that are asked about.
local ids = redis.call('zrangebyscore', KEYS[2], 0, ARGV[1])
if next(ids) ~= nil then
  local job = redis.call('hget', KEYS[1], ids[1])
  if job then redis.call('publish', ids[1], 'next ' .. job) end
  local every = tonumber(redis.call('hget', KEYS[3], ids[1]))
  if every then redis.call('zadd', KEYS[4], ARGV[1] + every, ids[1]) end
end
local score = redis.call('zscore', KEYS[5], ARGV[2])
if score ~= nil and score ~= false and score ~= '' then redis.call('zadd', KEYS[4], score, ARGV[2]) end
for _, entry in ipairs(redis.call('xrange', KEYS[7], '-', '+')) do redis.call('xdel', KEYS[7], entry[1]) end
if redis.call('hexists', KEYS[6], 'epoch') == 0 then return 0 end
if tonumber(redis.call('hget', KEYS[6], 'epoch')) > 5 then return 1 end
return nil
