-- What is filled or counted, and used: here, in another table, or by the one of whom the table is.
local ids, seen, done, all, cursor = {}, {}, 0, {}, '0'
for _, id in ipairs(redis.call('zrange', KEYS[1], 0, -1)) do
  ids[#ids + 1] = id
  table.insert(seen, ids)
  done = done + 1
  all[done] = seen
end
repeat
  local page = redis.call('sscan', KEYS[2], cursor)
  cursor = page[1]
until cursor == '0'
local list = all[1]
list[#list + 1] = 'end'
math.randomseed(ARGV[1])
redis.call('del', ids[1])
redis.call('rpush', KEYS[3], cjson.encode(all))
