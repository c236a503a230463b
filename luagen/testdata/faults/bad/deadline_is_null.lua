local task = cjson.decode(ARGV[1])
if task.deadline and task.deadline < tonumber(ARGV[2]) then
  return 0
end
return redis.call('RPUSH', KEYS[1], ARGV[1])
