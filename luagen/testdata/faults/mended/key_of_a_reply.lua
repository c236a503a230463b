local owner = redis.call('HGET', KEYS[1], 'owner')
if owner ~= ARGV[1] then
  return false
end
return redis.call('HGET', KEYS[2], 'plan')
