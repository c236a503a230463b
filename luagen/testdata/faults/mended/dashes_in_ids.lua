local found = 0
for _, entry in ipairs(redis.call('LRANGE', KEYS[1], 0, 99)) do
  if string.find(entry, ARGV[1], 1, true) then
    found = found + 1
  end
end
return found
