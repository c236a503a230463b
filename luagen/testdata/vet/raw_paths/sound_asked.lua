-- The caller passes an expiry, or none.
if #ARGV == 3 then
  return redis.call('set', KEYS[1], ARGV[1], ARGV[2], ARGV[3])
end
return redis.call('set', KEYS[1], ARGV[1])
