local ids, seen, done, all = {}, {}, 0, {}
for _, id in ipairs(redis.call('zrange', KEYS[1], 0, -1)) do
  redis.call('lpush', KEYS[2], id)
  ids[#ids + 1] = id
  table.insert(seen, id)
  all[id] = true
  done = done + 1
end
if not all[ARGV[1]] then redis.call('del', KEYS[3]) end
