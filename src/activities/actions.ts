/** The action workflow's activities: thin, over the services that do the work. */
import type { ActionActivities } from '../domain/action-activities';
import type { ActionServices } from '../services/actions/action-services';
import { approveByToken, denyByName } from '../services/actions/approvals';
import { askHost } from '../services/actions/ask-host';
import { dispatchAction } from '../services/actions/dispatch';
import { nextStep } from '../services/actions/next-step';
import { decideCancel, decideResolution, settleAttempt } from '../services/actions/settling';
import { asStep, whileBeating } from './beating';

export function actionActivities(services: ActionServices): ActionActivities {
  return {
    nextStep: (request) => asStep(() => nextStep(services, request)),
    dispatchAction: (request) => whileBeating((run) => dispatchAction(services, request, run)),
    settleAttempt: (step) => asStep(() => settleAttempt(services, step)),
    askHost: (request) => whileBeating(({ signal }) => askHost(services, request, signal)),
    cancelAction: (request) => asStep(() => decideCancel(services, request)),
    resolveAction: (request) => asStep(() => decideResolution(services, request)),
    approveAction: (request) => asStep(() => approveByToken(services, request, request.token)),
    denyAction: (request) => asStep(() => denyByName(services, request)),
  };
}
