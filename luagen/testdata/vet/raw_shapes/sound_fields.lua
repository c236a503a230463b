local job = redis.call('HMGET', KEYS[1], 'groupId', 'attempts', 'max_attempts', 'status')
local group, maxAttempts, job_status = job[1], tonumber(job[3] or 0), job[4]
local first = redis.call('ZRANGE', KEYS[3], 0, 0, 'WITHSCORES')
if next(first) then redis.call('ZADD', KEYS[3], first[2] + 1, first[1]) end
local least = redis.call('ZPOPMIN', KEYS[3])
if #least > 0 then redis.call('LPUSH', KEYS[2], least[1]) end
return cjson.encode({group or '', maxAttempts, job_status or ''})
