local moved = 0
for _ = 1, tonumber(ARGV[1]) do
  local item = redis.call('LPOP', KEYS[1])
  if item == false then
    break
  end
  redis.call('RPUSH', KEYS[2], item)
  moved = moved + 1
end
return moved
