local all = 0
for i = 1, #KEYS do
  all = all + redis.call('llen', KEYS[i])
  return all
end
