local sum = redis.call('HINCRBYFLOAT', KEYS[1], ARGV[1], ARGV[2])
if tonumber(sum) < 0 then
  redis.call('HINCRBYFLOAT', KEYS[1], ARGV[1], '-' .. ARGV[2])
  return false
end
return sum
