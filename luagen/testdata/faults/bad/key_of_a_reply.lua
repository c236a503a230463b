local owner = redis.call('HGET', KEYS[1], 'owner')
if not owner then
  return false
end
return redis.call('HGET', owner, 'plan')
