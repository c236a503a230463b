local job = cjson.decode(ARGV[1])
if job.at ~= nil and job.at < tonumber(ARGV[2]) then return 0 end
return redis.call('rpush', KEYS[1], ARGV[1])
