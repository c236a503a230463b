local function total(key, fields)
  local sum = 0
  for _, field in ipairs(fields) do
    sum = sum + redis.call('HGET', key, field)
  end
  return sum
end
return total(KEYS[1], ARGV)
