--- Each path returns what is declared.
---@key lock hash
---@key scores zset
---@arg owner string
---@arg lease milliseconds?
---@return bool done
---@return int? held
---@return milliseconds? wait
---@return float score
---@return string[] owners
---@error NOTOWNER another holds it
if owner == 'a' then return redis.error_reply('NOTOWNER another holds it') end
if owner == 'b' then return {err = 'NOTOWNER'} end
local score = redis.call('zscore', scores, owner) or '0'
if not lease then
  return {false, false, redis.call('pttl', lock), string.format('%.17g', score / 2), {}}
end
redis.call('pexpire', lock, lease)
if score == '0' or not score then
  local text = redis.call('hget', lock, 'text')
  if text ~= false then
    return {true, #text > 3 and text or 1, lease, text, {text}}
  end
end
local held = false
if redis.call('hexists', lock, owner) == 1 then
  held = redis.call('hincrby', lock, owner, 1)
end
local reply = {true, held, lease or false, 0, redis.call('hkeys', lock)}
if owner == 'c' then return reply end
if owner == 'd' then error('NOTOWNER no') end
do
  return {redis.call('exists', lock), nil or false, lease, tonumber(1), cjson.decode('["x"]')}
end
