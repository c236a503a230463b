local all = {}
for i, key in ipairs(KEYS) do
  all[i] = redis.call('get', key)
end
return all
