local all, last = {}, {}
for i, key in ipairs(KEYS) do all[i] = tonumber(redis.call('get', key)) end
for i = 1, #ARGV do last[#last + 1] = redis.call('hget', KEYS[1], ARGV[i]) end
return all
