local hash = {}
if redis.call('exists', KEYS[1]) == 0 then
  return -1
end
hash['colour'] = redis.call('hget', KEYS[1], 'colour')
hash['length'] = redis.call('hget', KEYS[1], 'length')
return hash
