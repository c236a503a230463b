local due = redis.call('ZRANGEBYSCORE', KEYS[1], '0', ARGV[1])
if #due > 0 then
  for i = 1, #due do redis.call('LPUSH', KEYS[2], due[i]) end
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '0', ARGV[1])
end
return #due
