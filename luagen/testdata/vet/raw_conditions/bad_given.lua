if ARGV[1] then redis.call('expire', KEYS[1], 60) end
for i = 2, #ARGV do redis.call('sadd', KEYS[1], ARGV[i]) end
return 1
