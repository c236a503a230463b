local function take(key)
  local v = redis.call('get', key)
  if v then
    return v
  else
    redis.call('set', key, 0, 'EX', 9)
  end
end
local function drop(key)
  redis.call('del', key)
  return 1
end
local function level(key)
  local n = redis.call('hget', key, 'own')
  if n then return tonumber(n) end
  n = redis.call('hget', key, 'common')
  if n then return tonumber(n) end
  redis.call('hincrby', key, 'missed', 1)
end
local notes = {}
local function note(text)
  notes[#notes + 1] = text
  return true
end
local function list(text)
  table.insert(notes, text)
  return #notes
end
if ARGV[1] == 'all' then
  drop(KEYS[1])
  note('dropped')
  list(notes[1])
  redis.call('rpush', KEYS[4], notes[1])
  redis.call('set', KEYS[1], take(KEYS[3]) or level(KEYS[2]) or 0)
end
return drop(KEYS[1])
