local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, 1)
if #due == 0 then
  return 0
end
redis.call('ZREM', KEYS[1], due[1])
local job = cjson.decode(due[1])
if job.queue ~= ARGV[2] then
  return redis.error_reply('QUEUE another queue')
end
redis.call('LPUSH', KEYS[2], due[1])
return 1
