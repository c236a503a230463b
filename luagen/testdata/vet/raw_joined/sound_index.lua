-- What is in the index has its data in the other key.
if redis.call('zscore', KEYS[1], ARGV[1]) then
  local data = cjson.decode(redis.call('get', KEYS[2]))
  return data.name
end
return ''
