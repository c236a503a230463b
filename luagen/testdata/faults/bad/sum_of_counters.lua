local sum = 0
for _, key in ipairs(KEYS) do
  local value = redis.call('get', key)
  if value ~= nil then
    sum = sum + tonumber(value)
  end
end
return sum
