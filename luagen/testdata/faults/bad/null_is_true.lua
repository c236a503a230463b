local job = cjson.decode(ARGV[1])
if job.parent then
  redis.call('SADD', KEYS[1], 'parent:' .. job.parent)
end
return 1
