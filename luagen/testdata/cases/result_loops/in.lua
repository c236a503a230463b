--- A loop without an end does not come to the end of the script.
---@key queue list
---@return string head
while true do
  local head = redis.call('lpop', queue)
  if not head then
    return redis.error_reply('EMPTY nothing is queued')
  end
  if head ~= '' then
    return head
  end
end
