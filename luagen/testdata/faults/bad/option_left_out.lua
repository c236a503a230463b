local opts = cjson.decode(ARGV[1])
local n = redis.call('INCR', KEYS[1])
if n == 1 then
  redis.call('PEXPIRE', KEYS[1], opts.duration)
end
return n
