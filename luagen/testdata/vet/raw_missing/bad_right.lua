-- What may be missing stands on the right of a comparison.
if tonumber(ARGV[1]) < tonumber(redis.call('get', KEYS[1])) then return 1 end
return 0
