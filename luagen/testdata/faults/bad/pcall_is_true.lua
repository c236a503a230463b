local reply = redis.pcall('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])
if reply then
  return 1
end
return 0
