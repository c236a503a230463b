-- KEYS[1]: lock
-- ARGV[1]: token of the caller
-- ARGV[2]: cost
if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('del', KEYS[1])
for i = 2, #KEYS do
  if redis.call('llen', KEYS[i]) >= 100 then return 0 end
end
for i = 2, #KEYS do redis.call('rpush', KEYS[i], ARGV[2]) end
local used = redis.call('incrby', KEYS[2], ARGV[2])
if used == tonumber(ARGV[2]) then redis.call('expire', KEYS[2], 60) end
local job = cjson.decode(ARGV[3])
if job.parent and job.parent ~= cjson.null then return job.parent.id end
return 1
