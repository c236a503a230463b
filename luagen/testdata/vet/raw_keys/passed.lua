local function count(name)
  return redis.call('incr', name)
end
count(KEYS[1])
return count('all')
