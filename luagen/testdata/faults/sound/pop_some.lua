local items = {}
for _ = 1, tonumber(ARGV[1]) do
  local item = redis.call('LPOP', KEYS[1])
  if not item then
    break
  end
  items[#items + 1] = item
  redis.call('ZADD', KEYS[2], ARGV[2], item)
end
return items
