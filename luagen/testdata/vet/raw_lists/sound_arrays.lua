-- The same with an element, a guard, or names.
local list = cjson.decode(redis.call('get', KEYS[1]) or '[]')
table.insert(list, ARGV[1])
redis.call('set', KEYS[1], cjson.encode(list), 'EX', 60)
local tens, names, ids = {}, {}, redis.call('hgetall', KEYS[2])
for i = 1, 3 do tens[#tens + 1] = i * 10 end
for i = 1, #ids, 2 do names[ids[i]] = ids[i + 1] end
for name, id in pairs(names) do names[name] = 'id ' .. id end
redis.call('set', KEYS[3], cjson.encode(tens), 'EX', 60)
redis.call('set', KEYS[3], cjson.encode(names), 'EX', 60)
local function others()
  local found = {}
  for _, id in ipairs(redis.call('lrange', KEYS[4], 0, 9)) do
    if id ~= ARGV[1] then found[#found + 1] = id end
  end
  return found
end
local rows, late = {all = {}}
if ARGV[2] == 'late' then late = 1 end
table.insert(rows.all, {late, 2})
redis.call('set', KEYS[3], cjson.encode(rows), 'EX', 60)
local rest = others()
if #rest == 0 then return '[]' end
return cjson.encode(rest)
