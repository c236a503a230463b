if ARGV[1] and ARGV[1] ~= '' then redis.call('expire', KEYS[1], ARGV[1]) end
if ARGV[2] then redis.call('expire', KEYS[2], ARGV[2]) end
if ARGV[3] then redis.call('set', KEYS[3], ARGV[3]) end
return ARGV[1]
